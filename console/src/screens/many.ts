/* The screens of change sets, which are loaded together. */

export { ChangeManyScreen } from './change-many.tsx'
export { ChangeSetScreen } from './change-set.tsx'
export { ChangeSetsScreen } from './change-sets.tsx'
export { ImportScreen } from './import.tsx'
