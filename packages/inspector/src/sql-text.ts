/** Literals, comments and parameters; identifiers in double quotes stay as they are. */
const PARTS = new RegExp(
  [
    String.raw`(?<text>[eE]'(?:[^'\\]|\\[^]|'')*(?:'|$)|(?:[uUnN]&?|[xXbB])?'(?:[^']|'')*(?:'|$))`,
    String.raw`(?<block>(?<tag>\$(?:[A-Za-z_]\w*)?\$)[^]*?(?:\k<tag>|$))`,
    String.raw`(?<comment>--[^\n]*|/\*[^]*?(?:\*/|$))`,
    String.raw`(?<kept>"(?:[^"]|"")*"|[$?:@]\w+|[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*)`,
    String.raw`(?<number>0[xX][\da-fA-F]+|\d[\d_]*(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)`,
    String.raw`(?<space>\s+)`,
  ].join('|'),
  'g',
);

const LONGEST = 2000;

/** The text of a statement without the values that were written into it. */
export function withoutValues(sql: string): string {
  const text = sql
    .slice(0, 4 * LONGEST)
    .replaceAll(PARTS, (part, ...rest) => {
      const { text: literal, block, comment, number } = rest.at(-1) as Record<string, string | undefined>;
      if (literal !== undefined || block !== undefined) return "'…'";
      if (number !== undefined) return '0';
      return comment !== undefined || /^\s/.test(part) ? ' ' : part;
    })
    .replaceAll(/ {2,}/g, ' ')
    .trim();
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}
