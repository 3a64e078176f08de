import{a}from"./part-Z4CSREAA.js";import"./part-SGZU57OR.js";import"./part-6XY54SP3.js";import"./part-XFF7LRI6.js";import"./part-KCRKIFPL.js";export{a as default};
