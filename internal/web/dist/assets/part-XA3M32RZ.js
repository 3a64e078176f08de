import{a,b,c,d}from"./part-J6KBN4IS.js";import"./part-I35AJGMM.js";import"./part-6XY54SP3.js";import"./part-M2SN2RFR.js";export{a as canPush,d as renew,b as subscribe,c as unsubscribe};
