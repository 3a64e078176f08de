import{a}from"./part-3CWB7SR4.js";import"./part-IVZQHVXV.js";import"./part-6XY54SP3.js";import"./part-JFZ6GZF3.js";import"./part-M2SN2RFR.js";export{a as default};
