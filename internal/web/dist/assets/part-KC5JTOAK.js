import{a}from"./part-X3ZW6WZ4.js";import"./part-VH3MWDJ2.js";import"./part-6XY54SP3.js";import"./part-II4VPD55.js";import"./part-KSY2I5Y5.js";export{a as default};
