import{c as e}from"./part-KMEQPMTX.js";var s;function i(o){s=o,e()}var p=()=>i(void 0);export{s as a,i as b,p as c};
