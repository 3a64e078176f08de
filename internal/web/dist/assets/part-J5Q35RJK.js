import{a}from"./part-QYOEK2H7.js";import"./part-QELRULBD.js";import"./part-6XY54SP3.js";import"./part-XFF7LRI6.js";import"./part-7GS46IZB.js";export{a as default};
