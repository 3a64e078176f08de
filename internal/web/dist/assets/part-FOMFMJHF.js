import{a}from"./part-XGZGGZJY.js";import"./part-WPGK7P72.js";import"./part-6XY54SP3.js";import"./part-II4VPD55.js";import"./part-2KPMDM25.js";export{a as default};
