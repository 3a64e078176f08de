import{a,b,c,d}from"./part-4JQ2YLIR.js";import"./part-I35AJGMM.js";import"./part-6XY54SP3.js";import"./part-2KPMDM25.js";export{a as canPush,d as renew,b as subscribe,c as unsubscribe};
