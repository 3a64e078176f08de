import{a,b,c,d}from"./part-WDAQUUBQ.js";import"./part-I35AJGMM.js";import"./part-6XY54SP3.js";import"./part-EKOVKU4F.js";export{a as canPush,d as renew,b as subscribe,c as unsubscribe};
