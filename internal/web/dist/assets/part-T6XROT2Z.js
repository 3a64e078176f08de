import{a}from"./part-WYMXNZP2.js";import"./part-KOFUWIEB.js";import"./part-6XY54SP3.js";import"./part-JFZ6GZF3.js";import"./part-EGFIOMJG.js";export{a as default};
