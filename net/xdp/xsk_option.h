/* SPDX-License-Identifier: GPL-2.0 */
#ifndef XSK_OPTION_H_
#define XSK_OPTION_H_

#include <linux/mm.h>
#include <linux/sockptr.h>
#include <linux/uaccess.h>

/*
 * The structures of if_xdp_fastpath.h can grow: a new binary works on an old
 * kernel unless it uses a new field, and conversely.
 */

/**
 * xsk_get_option() - copy a structure from setsockopt()
 * @dst: the kernel's structure, zeroed behind the user's
 * @ksize: size of @dst
 * @min: minimum size of the user's structure
 * @src: the user's structure
 * @usize: size of @src
 *
 * Return: 0; -EINVAL if @src is too short; -E2BIG if it has a field that this
 * kernel does not know; -EFAULT.
 */
static inline int xsk_get_option(void *dst, size_t ksize, size_t min,
				 sockptr_t src, size_t usize)
{
	if (usize < min)
		return -EINVAL;
	if (usize > PAGE_SIZE)
		return -E2BIG;
	/* copy_struct_from_sockptr() ignores what follows in user memory */
	if (!sockptr_is_kernel(src))
		return copy_struct_from_user(dst, ksize, src.user, usize);
	return copy_struct_from_sockptr(dst, ksize, src, usize);
}

/**
 * xsk_put_option() - copy a structure for getsockopt()
 * @dst: the user's buffer
 * @usize: its size; receives the number of bytes copied
 * @len: the value of @usize, not negative
 * @src: the kernel's structure
 * @ksize: size of @src
 *
 * Return: 0, or -EFAULT.
 */
static inline int xsk_put_option(char __user *dst, int __user *usize, int len,
				 const void *src, size_t ksize)
{
	int copied = min_t(size_t, len, ksize);

	if (copy_to_user(dst, src, copied) || put_user(copied, usize))
		return -EFAULT;
	return 0;
}

#endif /* XSK_OPTION_H_ */
