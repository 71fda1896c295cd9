// Comments, regular expressions, strings and templates are skipped; what counts is a bracket that opens, one that closes, and a
// constructor where one is defined. A slash divides, unless it stands where a value begins.
const TOKEN =
  /(?<![.\w$]|static\s)(['"]?)constructor\1(?=\s*[(/])|\/\/.*|\/\*[^]*?\*\/|(?<=[=>(,:!&|?[]\s*|return\s)\/(?:\\.|\[(?:\\.|[^\]])+]|[^/\\\n])+\/|(['"])(?:\\[^]|(?!\2)[^\\\n])*\2|`(?:\\[^]|\$\{(?:`[^`]*`|[^`}])*}|[^\\`$]|\$(?!\{))*`|([{([])|([\])}])/g;

// `super` gets all that the constructor gets.
const PASSES_ON = /^constructor\s*\((?:\.{3}([^)]+))?\)\s*\{[^{}]*super\(\.{3}(?:arguments|\1)\)/;

/**
 * Whether a class without parameters gives its parent the arguments it receives: it has no constructor, or one that passes them on, as
 * compilers write it for classes with fields. JavaScript tells this by the text of the class alone; undefined where the text cannot be read.
 */
export function passesOnArguments(target: object): boolean | undefined {
  const text = Function.prototype.toString.call(target);
  if (!text.startsWith('class')) return /\barguments\)/.test(text) || undefined;
  let depth = 0;
  for (const { 1: name, 3: opens, 4: closes, index } of text.matchAll(TOKEN)) {
    if (opens) depth++;
    else if (closes) depth--;
    else if (depth === 1 && name !== undefined) return PASSES_ON.test(text.slice(index));
  }
  return depth === 0 || undefined;
}
