import{a,b,c,d}from"./part-5DFCNOGN.js";import"./part-I35AJGMM.js";import"./part-6XY54SP3.js";import"./part-KSY2I5Y5.js";export{a as canPush,d as renew,b as subscribe,c as unsubscribe};
