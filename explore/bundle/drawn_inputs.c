/* The inputs that a seed stands for: drawn_inputs.py draws the same. Each number is a hash of the
   seed, of what it is for, and of its place (splitmix64), so that none depends on another. */

static uint64_t mixed(uint64_t z) {
  z += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

/* The hash of a place in a stream of a seed; each input has a stream, and each result. */
static uint64_t drawn_bits(uint64_t seed, uint64_t stream, uint64_t place) {
  return mixed(mixed(mixed(seed) + stream) + place);
}

/* The bits of a half for a number that a half can hold. */
static uint16_t half_bits(double value) {
  int exponent;
  double fraction = frexp(fabs(value), &exponent); /* 0.5 to 1 */
  uint16_t sign = value < 0 ? 0x8000 : 0;
  if (fraction == 0) return 0;
  if (exponent < -13) return (uint16_t)(sign | (int)ldexp(fabs(value), 24));
  return (uint16_t)(sign | (exponent + 14) << 10 | ((int)ldexp(fraction, 11) & 1023));
}

/* Store a number that the type can hold. */
static void store_number(void *data, enum scalar scalar, size_t i, double value) {
  float narrow = (float)value;
  uint32_t bits;
  memcpy(&bits, &narrow, sizeof bits);
  switch (scalar) {
    case FLOAT: ((float *)data)[i] = narrow; break;
    case HALF: ((uint16_t *)data)[i] = half_bits(value); break;
    case BFLOAT: ((uint16_t *)data)[i] = (uint16_t)(bits >> 16); break;
    case LONG: ((int64_t *)data)[i] = (int64_t)value; break;
    case SHORT: ((int16_t *)data)[i] = (int16_t)value; break;
    case USHORT: ((uint16_t *)data)[i] = (uint16_t)value; break;
    case CHAR: ((int8_t *)data)[i] = (int8_t)value; break;
    case UCHAR: ((uint8_t *)data)[i] = (uint8_t)value; break;
    default: ((int32_t *)data)[i] = (int32_t)value;
  }
}

/* Reals are spread over -1 to 1, with as many bits as the type holds exactly; whole numbers are
   -3 to 3, or 0 to 3 where there is no sign. */
static double drawn_number(uint64_t bits, enum scalar scalar, int whole) {
  int digits = scalar == FLOAT ? 24 : scalar == HALF ? 11 : scalar == BFLOAT ? 8 : 0;
  if (digits && !whole) return ldexp((double)(bits >> (64 - digits)), 1 - digits) - 1;
  if (scalar == USHORT || scalar == UCHAR) return (double)((bits >> 33) % 4);
  return (double)((bits >> 33) % 7) - 3;
}

static void *drawn_input(uint64_t seed, int number, enum scalar scalar, size_t count, int whole) {
  void *data = malloc(count * bytes_of[scalar] + 1);
  if (!data) {
    fprintf(stderr, "no memory for %zu numbers\n", count);
    exit(1);
  }
  for (size_t i = 0; i < count; ++i)
    store_number(data, scalar, i,
                 drawn_number(drawn_bits(seed, (uint64_t)number, i), scalar, whole));
  return data;
}

/* The place in a result of the k-th number that is brought back as a sample. */
static size_t sampled_place(uint64_t seed, int output, int k, size_t count) {
  return (size_t)(drawn_bits(seed, 1000u + (uint64_t)output, (uint64_t)k) % count);
}
