/**
 * Tries every guarantee, and prints which held. Returns how many did not.
 * @param {import('./stage.mjs').Stage} stage
 * @param {Record<string, import('./scenarios.mjs').Scenario>} scenarios
 */
export async function tryAll(stage, scenarios) {
  let broken = 0;
  for (const [guarantee, scenario] of Object.entries(scenarios)) await check(guarantee, () => scenario(stage));
  await check('no request got 500', async () => {
    const faults = stage.instances.flatMap((instance) => instance.faults);
    if (faults.length > 0) throw new Error(`${faults.length} were, the first: ${faults[0]?.slice(0, 500)}`);
    return 'the logs have none';
  });
  return broken;

  /** @param {string} guarantee @param {() => Promise<string>} scenario */
  async function check(guarantee, scenario) {
    try {
      console.log(`  held    ${guarantee}: ${await scenario()}`);
    } catch (error) {
      broken += 1;
      console.log(`  BROKEN  ${guarantee}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}
