import { computed, effect, signal } from '@preact/signals';

const THEMES = ['Auto', 'Light', 'Dark'] as const;
type Theme = (typeof THEMES)[number];

const KEY = 'cronlease-theme';

export const theme = signal<Theme>(stored());
effect(() => {
  document.documentElement.style.colorScheme = theme.value === 'Auto' ? '' : theme.value.toLowerCase();
});

const system = matchMedia('(prefers-color-scheme: dark)');
const isSystemDark = signal(system.matches);
system.addEventListener('change', ({ matches }) => (isSystemDark.value = matches));

/** The colours that are shown: the system may change them in the evening. */
export const shownTheme = computed(() => {
  if (theme.value !== 'Auto') return theme.value;
  return isSystemDark.value ? 'Dark' : 'Light';
});

/** A browser may forbid pages to store anything. */
function stored(): Theme {
  try {
    return THEMES.find((one) => one === localStorage.getItem(KEY)) ?? 'Auto';
  } catch (error) {
    if (!(error instanceof DOMException)) throw error;
    return 'Auto';
  }
}

export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? 'Auto';
  try {
    localStorage.setItem(KEY, theme.value);
  } catch (error) {
    // It lasts until the page is closed.
    if (!(error instanceof DOMException)) throw error;
  }
}
