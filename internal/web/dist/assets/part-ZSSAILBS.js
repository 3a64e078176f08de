import{a}from"./part-GQ6SFV26.js";import"./part-2I2KFPS4.js";import"./part-6XY54SP3.js";import"./part-XFF7LRI6.js";import"./part-EKOVKU4F.js";export{a as default};
