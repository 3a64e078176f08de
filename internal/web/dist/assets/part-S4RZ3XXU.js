import{a}from"./part-TBCQG4ZY.js";import"./part-APC6T3MC.js";import"./part-AYUJTOU7.js";import"./part-PI4HDOO6.js";export{a as default};
