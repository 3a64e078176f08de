import{a,b,c,d}from"./part-5I5JZWDV.js";import"./part-I35AJGMM.js";import"./part-6XY54SP3.js";import"./part-7GS46IZB.js";export{a as canPush,d as renew,b as subscribe,c as unsubscribe};
