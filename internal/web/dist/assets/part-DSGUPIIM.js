import{a,b,c,d}from"./part-QUUK2NAC.js";import"./part-I35AJGMM.js";import"./part-6XY54SP3.js";import"./part-S6XVSKSJ.js";export{a as canPush,d as renew,b as subscribe,c as unsubscribe};
