/** The views, as the pattern "tabs" of ARIA has it: arrows move, and what is moved to is shown. */
export function startTabs(onShow: (panel: string) => void): (panel: string) => void {
  const tabs = [...document.querySelectorAll<HTMLButtonElement>('[role=tab]')];

  const show = (panel: string): void => {
    for (const tab of tabs) {
      const name = tab.getAttribute('aria-controls') ?? '';
      const chosen = name === panel;
      tab.setAttribute('aria-selected', String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
      document.getElementById(name)?.toggleAttribute('hidden', !chosen);
    }
    // Not the id of the panel alone: the browser would take that for a place to begin to read.
    history.replaceState(undefined, '', `#/${panel}`);
    onShow(panel);
  };

  for (const [i, tab] of tabs.entries()) {
    const name = tab.getAttribute('aria-controls') ?? '';
    tab.addEventListener('click', () => show(name));
    tab.addEventListener('keydown', ({ key }) => {
      const steps: Record<string, number> = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: -1 };
      const step = steps[key];
      const next = step === undefined ? undefined : tabs.at(step % tabs.length);
      next?.focus();
      next?.click();
    });
  }
  const wanted = location.hash.slice(2);
  show(tabs.some((tab) => tab.getAttribute('aria-controls') === wanted) ? wanted : 'graph');
  return show;
}
