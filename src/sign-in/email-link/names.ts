/** Name and kind of the provider. */
export const emailLinkName = 'email'
