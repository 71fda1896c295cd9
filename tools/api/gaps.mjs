// What the documentation of a symbol lacks.

/** @typedef {import('./model.mjs').Symbol} Symbol */
/** @typedef {{ at: Symbol, lacks: string }} Gap */

/** Methods whose meaning a protocol of the language fixes. */
const OF_A_PROTOCOL = /^(\[Symbol\.\w+\]|constructor)$/;

/**
 * Types need no example of their own: the reference links each to the functions that take it.
 * @param {Symbol} symbol @returns {Gap[]}
 */
export function gapsIn(symbol) {
  const needsExample = symbol.kind === 'function' || symbol.kind === 'class';
  const example =
    needsExample && symbol.doc.examples.length === 0 ? [{ at: symbol, lacks: `${symbol.name}: @example` }] : [];
  const members = symbol.members.flatMap((member) => textGaps(member, `${symbol.name}.${member.name}`));
  return [...textGaps(symbol, symbol.name), ...example, ...members];
}

/** @param {Symbol} symbol @param {string} name @returns {Gap[]} */
function textGaps(symbol, name) {
  const { doc } = symbol;
  const lacks = [];
  if (!doc.summary && !OF_A_PROTOCOL.test(symbol.name)) lacks.push('summary');
  const params = new Set(symbol.signatures.flatMap((signature) => signature.params));
  for (const param of params) if (!doc.params.get(param)) lacks.push(`@param ${param}`);
  // A property that a constructor declares has the text of its parameter.
  for (const param of symbol.kind === 'property' ? [] : doc.params.keys())
    if (!params.has(param) && !param.includes('.')) lacks.push(`a parameter called ${param}`);
  const hasResult = symbol.kind !== 'constructor' && symbol.signatures.some((signature) => signature.hasResult);
  if (hasResult && !doc.returns && !OF_A_PROTOCOL.test(symbol.name)) lacks.push('@returns');
  if (symbol.canThrow && doc.throws.length === 0) lacks.push('@throws');
  return lacks.map((lack) => ({ at: symbol, lacks: `${name}: ${lack}` }));
}
