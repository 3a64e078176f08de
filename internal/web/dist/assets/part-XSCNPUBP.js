import{a,b,c,d}from"./part-5TI5NJFN.js";import"./part-I35AJGMM.js";import"./part-6XY54SP3.js";import"./part-EGFIOMJG.js";export{a as canPush,d as renew,b as subscribe,c as unsubscribe};
