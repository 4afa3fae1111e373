import type { Resource, Template, Templates } from './bicep';

export interface Infra {
  readonly templates: Templates;
  /** The jobs file, as `loadJsonContent` gives it. */
  readonly jobs: object;
}

/** Looks at one thing that must hold. Returns a line for each place where it does not. */
export type Check = (infra: Infra) => string[];

/** All resources of a type that the templates make, wherever they stand. */
export function resourcesOfType(templates: Templates, type: string): { template: Template; resource: Resource }[] {
  return [...templates.values()].flatMap((template) =>
    template.resources
      .filter((resource) => resource.type === type && !resource.existing)
      .map((resource) => ({ template, resource })),
  );
}
