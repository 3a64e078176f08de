var t="/sw.js",e=window.trustedTypes,r=e?.createPolicy("middleman",{createScriptURL:()=>t}).createScriptURL("")??t;export{r as a};
