import{a}from"./part-DUEV4AQV.js";import"./part-ZP2YVTEX.js";import"./part-6XY54SP3.js";import"./part-JFZ6GZF3.js";import"./part-M2SN2RFR.js";export{a as default};
