/**
 * The own member of an object with this name. A name from outside, such as `constructor`, must not find what every object
 * inherits.
 */
export function own<T>(object: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined
}
