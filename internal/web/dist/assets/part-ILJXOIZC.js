import{a}from"./part-B65EXVZJ.js";import"./part-KMYIDOW6.js";import"./part-6XY54SP3.js";import"./part-XFF7LRI6.js";import"./part-EKOVKU4F.js";export{a as default};
