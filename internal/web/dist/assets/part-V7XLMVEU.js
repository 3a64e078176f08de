import{c as e}from"./part-ZP2YVTEX.js";var s;function i(o){s=o,e()}var n=()=>i(void 0);export{s as a,i as b,n as c};
