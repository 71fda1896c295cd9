import { currentAddress, showAddress } from './navigation.js';
import type { Shortcut } from './shortcuts.js';

/** The views, as the pattern "tabs" of ARIA has it: arrows move, and what is moved to is shown. The address says which. */
export function startTabs(onShow: (panel: string) => void): (panel: string) => void {
  const tabs = [...document.querySelectorAll<HTMLButtonElement>('[role=tab]')];
  const nameOf = (tab: HTMLElement): string => tab.getAttribute('aria-controls') ?? '';

  const show = (panel: string): void => {
    for (const tab of tabs) {
      const name = nameOf(tab);
      const chosen = name === panel;
      tab.setAttribute('aria-selected', String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
      // Only as far as necessary, in a row of tabs that is wider than the window.
      if (chosen) tab.scrollIntoView({ block: 'nearest', inline: 'nearest' });
      document.getElementById(name)?.toggleAttribute('hidden', !chosen);
    }
    if (currentAddress().view !== panel) showAddress({ view: panel });
    onShow(panel);
  };
  const showAddressed = (): void => {
    const { view } = currentAddress();
    show(tabs.some((tab) => nameOf(tab) === view) ? view : 'graph');
  };

  for (const [i, tab] of tabs.entries()) {
    tab.addEventListener('click', () => show(nameOf(tab)));
    tab.addEventListener('keydown', ({ key }) => {
      const steps: Record<string, number> = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: -1 };
      const step = steps[key];
      const next = step === undefined ? undefined : tabs.at(step % tabs.length);
      next?.focus();
      next?.click();
    });
  }
  addEventListener('hashchange', showAddressed);
  showAddressed();
  return show;
}

/** The keys that the tabs declare. */
export function tabShortcuts(show: (panel: string) => void): Shortcut[] {
  const tabs = [...document.querySelectorAll<HTMLElement>('[role=tab][aria-keyshortcuts]')];
  return tabs.map((tab) => ({
    key: tab.getAttribute('aria-keyshortcuts') ?? '',
    about: (tab.firstChild?.textContent ?? '').trim(),
    act: () => show(tab.getAttribute('aria-controls') ?? ''),
  }));
}
