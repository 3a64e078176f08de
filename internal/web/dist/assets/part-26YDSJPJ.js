import{a}from"./part-OTM2APB6.js";import"./part-XOIKA6EY.js";import"./part-6XY54SP3.js";import"./part-II4VPD55.js";import"./part-EKOVKU4F.js";export{a as default};
