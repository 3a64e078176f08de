import{a}from"./part-FY5OPB2U.js";import"./part-APC6T3MC.js";import"./part-IRMGJVUD.js";import"./part-PI4HDOO6.js";export{a as default};
