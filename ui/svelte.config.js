// Warnings of the compiler (accessibility among them) are errors: see `npm run check`.
export default { compilerOptions: { runes: true } };
