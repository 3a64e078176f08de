import{a}from"./part-2ULZP6IO.js";import"./part-APC6T3MC.js";import"./part-FDTU2MSD.js";import"./part-UZDGISES.js";export{a as default};
