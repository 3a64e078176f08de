import{a,b,c,d}from"./part-TO24Y5PO.js";import"./part-I35AJGMM.js";import"./part-6XY54SP3.js";import"./part-KCRKIFPL.js";export{a as canPush,d as renew,b as subscribe,c as unsubscribe};
