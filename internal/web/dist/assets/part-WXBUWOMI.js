import{a}from"./part-UIM756EK.js";import"./part-XARYAD33.js";import"./part-6XY54SP3.js";import"./part-DFQPRKSN.js";import"./part-EKOVKU4F.js";export{a as default};
