/** PostgreSQL's own types: the number of the type, that of its array, and the name. The numbers are those of every server. */
const BUILT_IN = `16 1000 bool; 17 1001 bytea; 19 1003 name; 20 1016 int8; 21 1005 int2; 23 1007 int4; 24 1008 regproc; 25 1009 text;
26 1028 oid; 27 1010 tid; 28 1011 xid; 29 1012 cid; 114 199 json; 142 143 xml; 600 1017 point; 601 1018 lseg; 602 1019 path; 603 1020 box;
604 1027 polygon; 628 629 line; 650 651 cidr; 700 1021 float4; 701 1022 float8; 718 719 circle; 774 775 macaddr8; 790 791 money;
829 1040 macaddr; 869 1041 inet; 1042 1014 bpchar; 1043 1015 varchar; 1082 1182 date; 1083 1183 time; 1114 1115 timestamp;
1184 1185 timestamptz; 1186 1187 interval; 1266 1270 timetz; 1560 1561 bit; 1562 1563 varbit; 1700 1231 numeric; 2950 2951 uuid;
3614 3643 tsvector; 3615 3645 tsquery; 3802 3807 jsonb; 3904 3905 int4range; 3906 3907 numrange; 3908 3909 tsrange; 3910 3911 tstzrange;
3912 3913 daterange; 3926 3927 int8range; 4072 4073 jsonpath; 4451 6150 int4multirange; 4532 6151 nummultirange; 4533 6152 tsmultirange;
4534 6153 tstzmultirange; 4535 6155 datemultirange; 4536 6157 int8multirange`;

/** Types from here on were created in the database. */
export const FIRST_CREATED = 16_384;

/** The numbers of a type. */
export interface TypeNumbers {
  readonly oid: number;
  /** Of the arrays of the type. */
  readonly arrayOid: number;
}

/** By the name of the type. */
export const TYPES: ReadonlyMap<string, TypeNumbers> = new Map(
  BUILT_IN.split(';').map((entry) => {
    const [oid, arrayOid, name = ''] = entry.trim().split(' ');
    return [name, { oid: Number(oid), arrayOid: Number(arrayOid) }];
  }),
);

/** What a placeholder is cast to so that it has the type of this number, arrays included. */
export const NAMES: ReadonlyMap<number, string> = new Map(
  [...TYPES].flatMap(([name, { oid, arrayOid }]) => [
    [oid, name],
    [arrayOid, `${name}[]`],
  ]),
);

/** The number of the elements' type by that of the array. */
export const ELEMENTS: ReadonlyMap<number, number> = new Map(
  [...TYPES.values()].map(({ oid, arrayOid }) => [arrayOid, oid]),
);

/** In the text of an array: an element in quotes, one without, or a bracket. */
const PARTS = /"((?:[^"\\]|\\.)*)"|([^{},;"\s][^{},;"]*)|[{}]/gs;
/** Of boxes alone; their elements contain commas. */
const BOXES = 1020;
const PARTS_OF_BOXES = /([^{};]+)|[{}]/gs;

/**
 * The elements of an array, nested where the array has several dimensions.
 *
 * @param text - as PostgreSQL writes it
 * @param parse - is called with the text of each element that is not NULL
 * @param oid - the number of the array's type
 */
export function parseArray(text: string, parse: (element: string) => unknown, oid?: number): unknown[] {
  const root: unknown[] = [];
  const open = [root];
  // The bounds of an array that does not begin at 1.
  const elements = text.slice(text.indexOf('{'));
  for (const match of elements.matchAll(oid === BOXES ? PARTS_OF_BOXES : PARTS)) {
    const [part] = match;
    if (part === '{') {
      const inner: unknown[] = [];
      open.at(-1)?.push(inner);
      open.push(inner);
    } else if (part === '}') open.pop();
    else open.at(-1)?.push(elementOf(match, parse));
  }
  return root[0] as unknown[];
}

function elementOf([part, quoted]: RegExpExecArray, parse: (element: string) => unknown): unknown {
  if (part.startsWith('"') && quoted !== undefined) return parse(quoted.replaceAll(/\\(.)/gs, '$1'));
  return part.toUpperCase() === 'NULL' ? null : parse(part);
}

/** The text of an array, as PostgreSQL reads it. */
export function arrayText(values: readonly unknown[], textOf: (element: unknown) => string, oid?: number): string {
  const elements = values.map((value) => {
    if (Array.isArray(value)) return arrayText(value, textOf, oid);
    if (value === null || value === undefined) return 'NULL';
    return `"${textOf(value).replaceAll(/["\\]/g, '\\$&')}"`;
  });
  return `{${elements.join(oid === BOXES ? ';' : ',')}}`;
}
