/** Whether this build carries the simulated engine: `vite --mode simulated`. */
declare const __SIMULATED__: boolean;
