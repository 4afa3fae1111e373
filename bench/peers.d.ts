// The used parts of the peers' packages. The packages are installed by `npm run bench` alone, so checks must not need
// them.

declare module 'croner' {
  export class Cron {
    constructor(pattern: string, options: { readonly timezone: string }, fire: () => void);
    stop(): void;
  }
}
