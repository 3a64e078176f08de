import{a}from"./part-HNHJILP3.js";import"./part-LY547KTE.js";import"./part-6XY54SP3.js";import"./part-II4VPD55.js";import"./part-2KPMDM25.js";export{a as default};
