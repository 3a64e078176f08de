import{a}from"./part-ZP6WESRT.js";import"./part-AOAWJTDH.js";import"./part-6XY54SP3.js";import"./part-IRZJNCTW.js";import"./part-S6XVSKSJ.js";export{a as default};
