import{a}from"./part-3QVASNIC.js";import"./part-APC6T3MC.js";import"./part-KMEQPMTX.js";import"./part-OK4SQUEZ.js";export{a as default};
