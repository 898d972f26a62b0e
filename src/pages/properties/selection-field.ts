/** Beginning of the name of the checkbox that selects a property. The name of the property follows. */
export const selectedField = 'pick:'
