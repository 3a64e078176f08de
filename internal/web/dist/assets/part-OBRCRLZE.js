import{a}from"./part-3CMVPSDV.js";import"./part-IQFDZ7JA.js";import"./part-6XY54SP3.js";import"./part-242W3K6P.js";import"./part-S6XVSKSJ.js";export{a as default};
