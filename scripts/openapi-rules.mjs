// What the OpenAPI document must have for readers beyond what Redocly's rules require. `scripts/lint-openapi.mjs` applies it.

/** @typedef {Record<string, any>} Part */

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];

/**
 * @param {Part} document
 * @param {string} version that of the package
 * @returns {string[]} one sentence for each part that breaks a rule
 */
export function brokenRulesOf(document, version) {
  const problems = [];
  if (document['info']?.version !== version)
    problems.push(`info.version is ${document['info']?.version}, but that of the package is ${version}`);
  for (const [place, part] of partsOf(document, '')) {
    for (const [name, property] of Object.entries(part['properties'] ?? {}))
      if (!hasText(property.description) && !property.$ref)
        problems.push(`${place}/properties/${name} has no description`);
    for (const [name, example] of Object.entries(isMap(part['examples']) ? part['examples'] : {}))
      if (!hasText(example.summary)) problems.push(`${place}/examples/${name} has no summary`);
    if (isParameter(part) && !hasText(part['description'])) problems.push(`${place} has no description`);
  }
  const operations = operationsOf(document);
  for (const { place, operation } of operations) {
    if (operation['responses']?.['405'])
      problems.push(`${place} lists 405, which is about other methods: info.description says it once`);
    if (!operation['responses']?.['401']) problems.push(`${place} does not list 401, which \`identify\` may send`);
    for (const parameter of parametersOf(document, operation))
      if (parameter['required'] && parameter['example'] === undefined && !isLinked(operations, operation, parameter))
        problems.push(
          `${place} cannot be tried: its parameter ${parameter['name']} has no example, and no link fills it`,
        );
  }
  return problems;
}

/** @param {Part} document */
const operationsOf = (document) =>
  Object.entries(document['paths'] ?? {}).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method]).map((method) => {
      return { place: `${method.toUpperCase()} ${path}`, operation: /** @type {Part} */ (item[method]) };
    }),
  );

/** @param {Part} document @param {Part} operation @returns {Part[]} */
const parametersOf = (document, operation) =>
  (operation['parameters'] ?? []).map((/** @type {Part} */ parameter) =>
    parameter['$ref'] ? document['components'].parameters[parameter['$ref'].split('/').at(-1)] : parameter,
  );

/**
 * Whether a response of another operation has the value of the parameter.
 * @param {{ operation: Part }[]} operations
 * @param {Part} wanted
 * @param {Part} parameter
 */
const isLinked = (operations, wanted, parameter) =>
  operations
    .flatMap(({ operation }) => Object.values(operation['responses'] ?? {}))
    .flatMap(({ links = {} }) => Object.values(links))
    .some(({ operationId, parameters }) => operationId === wanted['operationId'] && parameter['name'] in parameters);

/** @param {Part} part */
const isParameter = (part) => typeof part['name'] === 'string' && typeof part['in'] === 'string';

/** @param {unknown} value @returns {value is Part} */
const isMap = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

/** @param {unknown} text */
const hasText = (text) => typeof text === 'string' && text.trim() !== '';

/**
 * Every object within, but not within the values of examples, which may look like anything.
 * @param {unknown} part
 * @param {string} place
 * @returns {Generator<[string, Part], void>}
 */
function* partsOf(part, place) {
  if (Array.isArray(part)) for (const [i, inner] of part.entries()) yield* partsOf(inner, `${place}/${i}`);
  if (!isMap(part)) return;
  yield [place, part];
  for (const [name, inner] of Object.entries(part))
    if (name !== 'examples' && name !== 'example') yield* partsOf(inner, `${place}/${name}`);
}
