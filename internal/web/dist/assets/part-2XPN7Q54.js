import{a}from"./part-ZV24OXM6.js";import"./part-CU67QNLS.js";import"./part-6XY54SP3.js";import"./part-JFZ6GZF3.js";import"./part-M2SN2RFR.js";export{a as default};
